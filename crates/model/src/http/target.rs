//! Where requests go, and the key that goes with them in a header and nowhere else.

use std::{fmt, time::Duration};

use countersign_protocol::Api;
use reqwest::{
    Client, RequestBuilder, Url,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue},
    redirect,
};
use secrecy::{ExposeSecret, SecretString};

use crate::{ConnectError, Provider};

/// How long a connection may take to come about.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
/// The version of the Anthropic API whose answers the decoder reads.
const ANTHROPIC_VERSION: &str = "2023-06-01";

/// A provider's address, ready for requests.
pub(super) struct Target {
    pub(super) provider: String,
    pub(super) api: Api,
    url: Url,
    client: Client,
    key: Option<SecretString>,
}

impl Target {
    pub(super) fn new(provider: &Provider, key: Option<SecretString>) -> Result<Self, ConnectError> {
        let url = endpoint(provider.api, &provider.base_url)
            .map_err(|reason| ConnectError::BaseUrl { provider: provider.name.clone(), reason })?;
        let headers = headers(provider.api, key.as_ref())
            .ok_or_else(|| ConnectError::KeyMalformed { provider: provider.name.clone() })?;
        // Another part of the program may have chosen a provider of cryptography before; that one is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = Client::builder()
            .user_agent(concat!("countersign/", env!("CARGO_PKG_VERSION")))
            .default_headers(headers)
            .connect_timeout(CONNECT_TIMEOUT)
            // Streams may last long: only silence is limited.
            .read_timeout(provider.idle_timeout())
            // A key must not follow a redirect, and there is one owner of retries.
            .redirect(redirect::Policy::none())
            .retry(reqwest::retry::never());
        if is_loopback(&url) {
            builder = builder.no_proxy();
        }
        let client = builder.build().map_err(ConnectError::Client)?;
        Ok(Self { provider: provider.name.clone(), api: provider.api, url, client, key })
    }

    /// The server's name.
    pub(super) fn host(&self) -> &str {
        self.url.host_str().unwrap_or_default()
    }

    /// The server's address without what may be secret.
    pub(super) fn address(&self) -> String {
        let port = self.url.port().map(|port| format!(":{port}")).unwrap_or_default();
        format!("{}://{}{port}{}", self.url.scheme(), self.host(), self.url.path())
    }

    pub(super) fn post(&self) -> RequestBuilder {
        self.client.post(self.url.clone())
    }

    /// A text from outside without the key, should the server repeat it.
    pub(super) fn without_key(&self, text: &str) -> String {
        match &self.key {
            Some(key) => text.replace(key.expose_secret(), "[the key]"),
            None => text.to_owned(),
        }
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Target")
            .field("provider", &self.provider)
            .field("address", &self.address())
            .finish_non_exhaustive()
    }
}

/// The URL that requests are sent to; else what is wrong with the base.
fn endpoint(api: Api, base: &str) -> Result<Url, String> {
    let mut url = Url::parse(base).map_err(|error| error.to_string())?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err("it does not begin with http:// or https:// and a server's name".into());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("it holds credentials; put the key into a variable and name that in `api_key_env`".into());
    }
    let versioned = url.path().trim_end_matches('/').ends_with("/v1");
    let path: &[&str] = match api {
        Api::AnthropicMessages if versioned => &["messages"],
        Api::AnthropicMessages => &["v1", "messages"],
        _ => &["chat", "completions"],
    };
    if let Ok(mut segments) = url.path_segments_mut() {
        segments.pop_if_empty().extend(path);
    }
    Ok(url)
}

/// The headers of every request; `None` where the key can't stand in one.
fn headers(api: Api, key: Option<&SecretString>) -> Option<HeaderMap> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream, application/json"));
    let (name, scheme) = match api {
        Api::AnthropicMessages => {
            headers.insert("anthropic-version", HeaderValue::from_static(ANTHROPIC_VERSION));
            (HeaderName::from_static("x-api-key"), "")
        }
        _ => (AUTHORIZATION, "Bearer "),
    };
    if let Some(key) = key {
        let key = key.expose_secret();
        if key.is_empty() || !key.bytes().all(|byte| byte.is_ascii_graphic()) {
            return None;
        }
        let mut value = HeaderValue::try_from(format!("{scheme}{key}")).ok()?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Some(headers)
}

/// A server on this machine is never behind a proxy.
fn is_loopback(url: &Url) -> bool {
    match url.host_str() {
        Some("localhost") => true,
        Some(host) => {
            let address = host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
            address.is_ok_and(|address| address.is_loopback())
        }
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_url_may_end_as_people_write_it() {
        for (api, base, expected) in [
            (Api::AnthropicMessages, "https://api.anthropic.com", "https://api.anthropic.com/v1/messages"),
            (
                Api::AnthropicMessages,
                "https://api.anthropic.com/v1/",
                "https://api.anthropic.com/v1/messages",
            ),
            (Api::OpenaiChat, "http://127.0.0.1:8080/v1", "http://127.0.0.1:8080/v1/chat/completions"),
            (Api::OpenaiChat, "http://127.0.0.1:8080/v1/", "http://127.0.0.1:8080/v1/chat/completions"),
            (Api::OpenaiChat, "http://lab", "http://lab/chat/completions"),
            (Api::OpenaiChat, "https://lab/x?version=2", "https://lab/x/chat/completions?version=2"),
        ] {
            assert_eq!(endpoint(api, base).unwrap().as_str(), expected);
        }
        for base in ["", "lab", "ftp://lab", "http://", "https://user:secret@lab/v1", "unix:/run/lab"] {
            let error = endpoint(Api::OpenaiChat, base).unwrap_err();
            assert!(!error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn a_key_that_cannot_stand_in_a_header_is_refused() {
        for key in ["", "two words", "line\nbreak", "schlüssel"] {
            assert_eq!(headers(Api::OpenaiChat, Some(&key.into())), None, "{key:?}");
        }
        let headers = headers(Api::OpenaiChat, Some(&"k-1".into())).unwrap();
        assert_eq!(headers[AUTHORIZATION], "Bearer k-1");
        assert!(!format!("{headers:?}").contains("k-1"));
    }

    #[test]
    fn this_machine_is_known_by_any_of_its_names() {
        for (url, expected) in [
            ("http://localhost:1/", true),
            ("http://127.0.0.9/", true),
            ("http://[::1]:8080/", true),
            ("http://10.0.0.1/", false),
            ("https://api.openai.com/", false),
        ] {
            assert_eq!(is_loopback(&Url::parse(url).unwrap()), expected, "{url}");
        }
    }
}
