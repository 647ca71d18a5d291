//! `cargo test` on a real crate: names by binary, and tests that live in the code that the worker edits.

use crate::project::{Project, accepted, refuted, report};

const LIB: &str = "/// Adds.\n/// ```\n/// assert_eq!(calc::add(0, 0), 0);\n/// ```\npub fn add(a: i32, b: i32) -> i32 {\n    a - b\n}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn small() {\n        assert_eq!(super::add(2, 3), 5);\n    }\n\n    #[test]\n    fn zero() {\n        assert_eq!(super::add(0, 0), 0);\n    }\n}\n";

#[tokio::test]
async fn a_crate_is_judged_by_its_tests_names() {
    let manifest = "[package]\nname = \"calc\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[workspace]\n";
    let check = serde_json::json!({ "name": "tests", "run": "cargo test --offline", "report": "cargo-test", "confirm": 1 });
    let policy = serde_json::json!({ "name": "p", "check": [check] });
    let project = Project::new(&[("Cargo.toml", manifest), ("src/lib.rs", LIB)], policy).await;
    let fixed = LIB.replace("a - b", "a + b");

    let one_less = fixed.replace("    #[test]\n    fn small", "    fn small");
    let told = refuted(&project.claim(&[("src/lib.rs", &one_less)]).await, "tests");
    assert!(told.contains("gone: `calc (src/lib.rs): tests::small`"), "{told}");

    let skipped = fixed.replace("    #[test]\n    fn small", "    #[test]\n    #[ignore]\n    fn small");
    let told = refuted(&project.claim(&[("src/lib.rs", &skipped)]).await, "tests");
    assert!(told.contains("skipped now: `calc (src/lib.rs): tests::small`"), "{told}");

    let broken = refuted(&project.claim(&[("src/lib.rs", "fn")]).await, "tests");
    assert!(broken.contains("the build failed"), "{broken}");

    let runner = "[target.'cfg(all())']\nrunner = \"/bin/true\"\n";
    let told = refuted(&project.claim(&[("src/lib.rs", LIB), (".cargo/config.toml", runner)]).await, "tests");
    assert!(told.contains("tests::small"), "{told}");
    std::fs::remove_dir_all(project.workspace().join(".cargo")).unwrap();

    // Lines above a documentation test move it; it is the same test.
    let moved = format!("//! Sums.\n\n{fixed}");
    let examination = project.claim(&[("src/lib.rs", &moved)]).await;
    accepted(&examination);
    assert_eq!(report(&examination, "tests").tests.as_ref().unwrap().by_name.len(), 3);
}
