//! Facts about this machine, found by trying: whether containment holds, and which git is there.
