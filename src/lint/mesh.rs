//! The device mesh of a module, with the user's axis names where the dump has them.

use crate::hlo::Module;

/// One axis of a mesh.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// The user's name.
    pub name: String,
    /// Devices along it.
    pub size: u64,
}

/// The devices that share a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mesh {
    /// Devices in all.
    pub devices: u64,
    /// The axes in order; empty where the dump does not name them.
    pub axes: Vec<Axis>,
}

impl Mesh {
    /// The mesh of a module: devices from its header, axes from the Shardy meshes in its frontend
    /// attributes or in those of `before`, the module as it was handed in (only that one has them
    /// in optimized dumps).
    pub fn of(module: &Module<'_>, before: Option<&Module<'_>>) -> Mesh {
        let devices = device_count(module);
        let axes = [Some(module), before]
            .into_iter()
            .flatten()
            .flat_map(|module| module.header.frontend_attributes.iter())
            .filter(|(key, _)| *key == "xla.sdy.meshes")
            .flat_map(|(_, text)| meshes(text))
            .find(|axes| {
                axes.iter().try_fold(1_u64, |all, axis| all.checked_mul(axis.size)) == Some(devices)
            })
            .unwrap_or_default();
        Mesh { devices, axes }
    }
}

/// How many devices run the program: partitions times replicas.
fn device_count(module: &Module<'_>) -> u64 {
    let count = |n: i64| u64::try_from(n).unwrap_or(1).max(1);
    count(module.header.num_partitions).saturating_mul(count(module.header.replica_count))
}

/// The axes of every mesh in a text such as `{mesh = #sdy.mesh<["data"=8, "model"=4]>}`; quotes may
/// be escaped.
fn meshes(text: &str) -> impl Iterator<Item = Vec<Axis>> {
    text.split("#sdy.mesh<[")
        .skip(1)
        .map(|rest| rest.split(']').next().unwrap_or("").split(',').filter_map(axis).collect())
}

fn axis(text: &str) -> Option<Axis> {
    let (name, size) = text.split_once('=')?;
    let name = name.trim().trim_matches(['\\', '"', '\'']);
    Some(Axis { name: name.to_owned(), size: size.trim().parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::{Axis, meshes};

    #[test]
    fn axes_of_a_mesh() {
        let axis = |name: &str, size| Axis { name: name.to_owned(), size };
        let cases = [
            (
                r#"{maximal_mesh_0 = #sdy.mesh<[], device_ids=[0]>, mesh = #sdy.mesh<["x"=1]>}"#,
                vec![vec![], vec![axis("x", 1)]],
            ),
            (
                r#"{mesh = #sdy.mesh<[\"data\"=8, \"model\"=4]>}"#,
                vec![vec![axis("data", 8), axis("model", 4)]],
            ),
            ("{}", vec![]),
            (r#"{mesh = #sdy.mesh<["a"=99999999999999999999"#, vec![vec![]]),
        ];
        for (text, expected) in cases {
            assert_eq!(meshes(text).collect::<Vec<_>>(), expected, "{text}");
        }
    }
}
