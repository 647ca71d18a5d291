//! Known secret values, taken out of all that a tool gives back.

/// Secrets shorter than this are not masked: placeholders such as `none` would blot out ordinary text.
pub const SHORTEST_SECRET: usize = 8;

const MASKED: &str = "[secret]";

/// Known secret values, such as providers' keys.
#[derive(Clone, Default)]
pub(crate) struct Mask {
    /// The longest first, so that a secret which holds another leaves nothing of itself.
    secrets: Vec<String>,
}

impl Mask {
    pub(crate) fn add(&mut self, secrets: impl IntoIterator<Item = String>) {
        self.secrets.extend(secrets.into_iter().filter(|secret| secret.len() >= SHORTEST_SECRET));
        self.secrets.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        self.secrets.dedup();
    }

    pub(crate) fn text(&self, text: String) -> String {
        self.secrets.iter().fold(text, |text, secret| {
            if text.contains(secret.as_str()) { text.replace(secret.as_str(), MASKED) } else { text }
        })
    }

    /// The bytes without the secrets; `None` where there are none in them.
    pub(crate) fn bytes(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        self.secrets.iter().fold(None, |masked, secret| {
            let replaced = replace(masked.as_deref().unwrap_or(bytes), secret.as_bytes());
            replaced.or(masked)
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.secrets.is_empty()
    }
}

/// The bytes with every `secret` replaced; `None` where it is not in them.
fn replace(bytes: &[u8], secret: &[u8]) -> Option<Vec<u8>> {
    let find = |from: usize| {
        let found = bytes.get(from..)?.windows(secret.len()).position(|window| window == secret);
        found.map(|at| from + at)
    };
    let mut at = find(0)?;
    let (mut replaced, mut from) = (Vec::with_capacity(bytes.len()), 0);
    loop {
        replaced.extend_from_slice(&bytes[from..at]);
        replaced.extend_from_slice(MASKED.as_bytes());
        from = at + secret.len();
        match find(from) {
            Some(next) => at = next,
            None => break,
        }
    }
    replaced.extend_from_slice(&bytes[from..]);
    Some(replaced)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_known_secret_goes_and_placeholders_stay() {
        let mut mask = Mask::default();
        mask.add(["none", "sk-secret-1", "sk-secret-1-longer"].map(String::from));
        let text = "key=sk-secret-1-longer, sk-secret-1; none";
        let masked = "key=[secret], [secret]; none";
        assert_eq!(mask.text(text.into()), masked);
        assert_eq!(mask.bytes(text.as_bytes()).as_deref(), Some(masked.as_bytes()));
        assert_eq!(mask.bytes(b"nothing in here\xff"), None);
    }
}
