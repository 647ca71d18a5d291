//! The containing helper as a program of its own, for programs whose `main` cannot call `helper_entry`.

fn main() {
    countersign_sandbox::helper_entry();
}
