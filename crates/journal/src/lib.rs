//! The append-only journal of a run: its stores, what a model sees of it, and when to compact.
