//! Where the configuration is: the nearest hlolint.toml of a folder and those around it.

use super::FILE_NAME;
use std::path::{Path, PathBuf};

/// The nearest hlolint.toml of a folder, its parent, and so on.
pub fn find_upward(folder: &Path) -> Option<PathBuf> {
    folder.ancestors().map(|folder| folder.join(FILE_NAME)).find(|file| file.is_file())
}
