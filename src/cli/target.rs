//! Where a report goes: the output stream, a file, a browser.

use super::output;
use clap::Args;
use std::path::PathBuf;

/// Arguments of commands that write reports and pages.
#[derive(Debug, Args)]
pub struct Target {
    /// The file to write; the output stream where none is named. Files are written whole or not at
    /// all.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Open the page in the browser (--format html); without --output it is a temporary file.
    #[arg(long)]
    open: bool,
}

impl Target {
    /// Whether what was asked for can be done with the chosen format.
    ///
    /// # Errors
    /// What cannot.
    pub fn check(&self, is_page: bool) -> Result<(), String> {
        match self.open && !is_page {
            true => Err("--open: only a page can be opened; add --format html".to_owned()),
            false => Ok(()),
        }
    }

    /// Writes a page.
    ///
    /// # Errors
    /// Why it cannot be written or opened.
    pub fn page(&self, page: &str) -> Result<(), String> {
        output::page(page, self.output.as_deref(), self.open)
    }

    /// Writes a text: colours are for the output stream alone.
    ///
    /// # Errors
    /// Why it cannot be written.
    pub fn text(&self, text: &str) -> Result<(), String> {
        match &self.output {
            Some(file) => output::write_file(file, &anstream::adapter::strip_str(text).to_string()),
            None => {
                output::print(text);
                Ok(())
            }
        }
    }
}
