//! Skills: folders with a `SKILL.md`, of which only name, description and location enter the prompt.

use std::{
    fs,
    path::{Path, PathBuf},
};

use countersign_protocol::Role;

use crate::{diagnose::Diagnostic, world::World};

/// A skill, as the index shows it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Skill {
    /// Its name.
    pub name: String,
    /// Where its file is: relative to the workspace where it is in it.
    pub location: String,
    /// What it is for.
    pub description: String,
}

/// The skills in the folders that a role names; the folders are absolute by now. A skill that can't be used is left
/// out, and said.
pub(crate) fn find(role: &Role, workspace: &Path, world: &World) -> (Vec<Skill>, Vec<Diagnostic>) {
    let (mut skills, mut notes) = (Vec::new(), Vec::new());
    for file in role.skills.iter().flat_map(|folder| skill_files(folder)) {
        let shown = world.show(&file);
        match read(&file) {
            Ok((name, description)) => {
                let relative = file.strip_prefix(workspace).unwrap_or(&file);
                skills.push(Skill { name, description, location: relative.display().to_string() });
            }
            Err(why) => notes.push(Diagnostic::warning(format!("the skill `{shown}` is left out: {why}"))),
        }
    }
    skills.sort();
    skills.dedup();
    (skills, notes)
}

/// The folder's own `SKILL.md`, or those of the folders in it.
fn skill_files(folder: &Path) -> Vec<PathBuf> {
    let own = folder.join("SKILL.md");
    if own.is_file() {
        return vec![own];
    }
    let entries = folder.read_dir().into_iter().flatten().flatten();
    let mut files: Vec<_> =
        entries.map(|entry| entry.path().join("SKILL.md")).filter(|path| path.is_file()).collect();
    files.sort();
    files
}

fn read(file: &Path) -> Result<(String, String), String> {
    let text = fs::read_to_string(file).map_err(|error| error.to_string())?;
    let matter =
        front_matter(&text).ok_or("it does not begin with front matter between two lines of `---`")?;
    let description = value(matter, "description").ok_or("its front matter has no `description`")?;
    let folder = file.parent().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    let name = value(matter, "name").or(folder).ok_or("it has no name")?;
    Ok((name, description))
}

fn front_matter(text: &str) -> Option<&str> {
    let text = text.trim_start_matches('\u{feff}');
    let rest = text.strip_prefix("---")?.trim_start_matches([' ', '\r']).strip_prefix('\n')?;
    let mut end = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return Some(&rest[..end]);
        }
        end += line.len();
    }
    None
}

/// A value of YAML front matter, of the forms that people write there: plain, quoted, or a block on the lines below.
fn value(matter: &str, key: &str) -> Option<String> {
    let mut lines = matter.lines();
    let first = lines.find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?.trim();
    let below = lines.take_while(|line| line.starts_with([' ', '\t'])).map(str::trim);
    let first = if first.starts_with(['>', '|']) { "" } else { first };
    let joined =
        std::iter::once(first).chain(below).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
    let quoted = |quote: char| joined.strip_prefix(quote)?.strip_suffix(quote);
    let value = quoted('"').or_else(|| quoted('\'')).unwrap_or(&joined);
    (!value.is_empty()).then(|| value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn front_matter_is_read_in_the_forms_that_people_write() {
        let plain = "---\nname: pdf\ndescription: Reads PDF files.\n---\n# PDF\n";
        assert_eq!(value(front_matter(plain).unwrap(), "description").as_deref(), Some("Reads PDF files."));
        let block = "---\r\nname: 'x'\ndescription: >\n  Two\n  lines.\nlicense: MIT\n---\n";
        let matter = front_matter(block).unwrap();
        assert_eq!(value(matter, "name").as_deref(), Some("x"));
        assert_eq!(value(matter, "description").as_deref(), Some("Two lines."));
        assert_eq!(front_matter("# no front matter\n"), None);
        assert_eq!(front_matter("---\nname: never closed\n"), None);
    }

    #[test]
    fn skills_are_found_in_order_and_broken_ones_are_said() {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in
            [("b", "---\ndescription: B\n---\n"), ("a", "---\ndescription: A\n---\n"), ("c", "nothing")]
        {
            fs::create_dir(dir.path().join(name)).unwrap();
            fs::write(dir.path().join(name).join("SKILL.md"), text).unwrap();
        }
        let mut role: Role = toml::from_str("name = 'w'\nkind = 'worker'\nprompt = 'p'").unwrap();
        role.skills = vec![dir.path().into()];
        let world = crate::testing::world(dir.path());
        let (skills, notes) = find(&role, dir.path(), &world);
        let shown: Vec<_> = skills.iter().map(|s| (s.name.as_str(), s.location.as_str())).collect();
        assert_eq!(shown, [("a", "a/SKILL.md"), ("b", "b/SKILL.md")]);
        assert_eq!(notes.len(), 1);
    }
}
