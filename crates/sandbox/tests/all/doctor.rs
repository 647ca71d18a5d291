//! The doctor tells a sandbox that contains from one that does not.

use countersign_sandbox::{ProcessGroup, doctor};

use crate::support::contained;

#[tokio::test]
async fn what_leaves_the_session_is_seen_to_die_or_to_survive() {
    assert!(doctor::descendants_die(&contained()).await.unwrap());
    assert!(!doctor::descendants_die(&ProcessGroup::new()).await.unwrap());
}

#[tokio::test]
async fn git_is_there_and_keeps_snapshots() {
    assert!(doctor::git_version().await.unwrap().starts_with(char::is_numeric));
    doctor::snapshots_work().await.unwrap();
}
