//! Tests of files call by call: threads read and write their files, as `IOzone` does.
//!
//! A session checks and opens all files before anything is written, runs one test after another, and removes or keeps
//! the files at its end. All workers of a test begin together; with stonewalling the first that ends its file stops
//! the others, so that all figures are of a time in which all worked.

mod options;
mod session;

pub use penstock_live::PassSettings;

pub use self::options::FileTestOptions;
pub use self::session::FileTestSession;
