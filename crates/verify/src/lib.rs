//! What a claim must survive: policies, checks, baselines, evidence and certificates.
