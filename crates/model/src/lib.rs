//! The model call: request encoders, stream decoders, prices, retry, and the scripted model.

pub mod decode;
