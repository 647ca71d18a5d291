//! What a model can do: tool contracts, argument repair, the built-in tools, locks and the scheduler.
