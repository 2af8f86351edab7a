//! By what findings are judged: limits, when bytes matter, levels of rules, what makes a run fail.

use crate::config::{FailOn, RuleLevel, Settings, parse_bytes, unknown};
use crate::lint::all_rules;
use clap::Args;

/// Limits and levels; what is not said stays as it was.
#[derive(Debug, Args)]
pub struct Judge {
    /// HBM that something else uses: other live arrays, program code.
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    reserve: Option<u64>,

    /// The most a program may need, where that is less than what the chip has.
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    max_total: Option<u64>,

    /// The share of HBM from which a finding is a warning [default: 0.01].
    #[arg(long, value_name = "SHARE", value_parser = share)]
    min_share: Option<f64>,

    /// The size below which a finding is not reported [default: 1MiB].
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    min_bytes: Option<u64>,

    /// A rule whose warnings are errors; may be given several times.
    #[arg(short = 'D', long, value_name = "RULE", value_parser = rule)]
    deny: Vec<String>,

    /// A rule whose findings are at most warnings.
    #[arg(short = 'W', long, value_name = "RULE", value_parser = rule)]
    warn: Vec<String>,

    /// A rule that is not reported.
    #[arg(short = 'A', long, value_name = "RULE", value_parser = rule)]
    allow: Vec<String>,

    /// The level from which findings make the run fail [default: warn].
    #[arg(long, value_enum, value_name = "LEVEL")]
    fail_on: Option<FailOn>,

    /// Findings never make the run fail: short for --fail-on never.
    #[arg(long, conflicts_with = "fail_on")]
    exit_zero: bool,
}

impl Judge {
    /// What this says, before what the settings say.
    ///
    /// # Errors
    /// A rule that is given two levels.
    pub fn over(&self, mut settings: Settings) -> Result<Settings, String> {
        settings.reserve_bytes = self.reserve.unwrap_or(settings.reserve_bytes);
        settings.max_total_bytes = self.max_total.or(settings.max_total_bytes);
        let own = &mut settings.materiality;
        own.min_share = self.min_share.unwrap_or(own.min_share);
        own.min_bytes = self.min_bytes.unwrap_or(own.min_bytes);
        let levels: Vec<(&String, RuleLevel)> = [
            (&self.deny, RuleLevel::Error),
            (&self.warn, RuleLevel::Warn),
            (&self.allow, RuleLevel::Allow),
        ]
        .into_iter()
        .flat_map(|(rules, level)| rules.iter().map(move |rule| (rule, level)))
        .collect();
        for &(rule, level) in &levels {
            if levels.iter().any(|&(other, another)| other == rule && another != level) {
                return Err(format!("{rule} is given two levels: keep one of -D, -W, -A"));
            }
            settings.rules.entry(rule.clone()).or_default().level = Some(level);
        }
        Ok(settings)
    }

    /// The level from which findings make the run fail, where this says one.
    pub fn fail_on(&self) -> Option<FailOn> {
        if self.exit_zero { Some(FailOn::Never) } else { self.fail_on }
    }
}

fn rule(name: &str) -> Result<String, String> {
    let names = || all_rules().iter().map(|rule| rule.meta().name);
    match names().any(|known| known == name) {
        true => Ok(name.to_owned()),
        false => Err(unknown("rule", name, names())),
    }
}

fn share(text: &str) -> Result<f64, String> {
    let share: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if (0.0..=1.0).contains(&share) { Ok(share) } else { Err("not between 0 and 1".to_owned()) }
}
