//! `hlolint man`: the manual, made of the same words as `--help`.

use super::exit::Exit;
use super::output;
use clap::{Args, CommandFactory};
use clap_mangen::Man;
use std::path::PathBuf;

/// Arguments of `hlolint man`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  hlolint man --dir ~/.local/share/man/man1 && man hlolint-check")]
pub struct ManArgs {
    /// Write a page for each command into this folder, instead of one page to the output.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// Runs the command.
///
/// # Errors
/// A page that cannot be written.
pub fn run(args: &ManArgs) -> Result<Exit, String> {
    let command = super::args::Args::command();
    let Some(folder) = &args.dir else {
        let mut page = Vec::new();
        Man::new(command).render(&mut page).map_err(|error| error.to_string())?;
        output::print(&String::from_utf8_lossy(&page));
        return Ok(Exit::Clean);
    };
    std::fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(command, folder))
        .map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(Exit::Clean)
}
