//! The running system: one agent loop, three actors, consensus, budgets, stalls and resume.
