//! `target_arguments.txt` in; chip and topology out.

use super::scan::Read;
use super::text_proto;

/// What the TPU compiler was asked to compile for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TargetArguments<'t> {
    /// `version`: which chip; compilers up to 0.0.24 print a number for the name.
    pub version: &'t str,
    /// `variant`: `lite` on v5e.
    pub variant: &'t str,
    /// `chip_config_name`.
    pub chip_config_name: &'t str,
    /// `replica_count`.
    pub replica_count: Option<u64>,
    /// `reserved_hbm_usage_bytes`: 0 in every dump seen, whatever the chip reserves.
    pub reserved_hbm_bytes: Option<u64>,
    /// Chips of a host, by axis.
    pub chips_per_host: [u64; 3],
    /// Hosts, by axis.
    pub hosts: [u64; 3],
}

/// Reads `target_arguments.txt`.
///
/// # Errors
/// The first line that is not a field.
pub fn parse(text: &str) -> Read<TargetArguments<'_>> {
    let mut read = TargetArguments { chips_per_host: [1; 3], hosts: [1; 3], ..Default::default() };
    for field in text_proto::fields(text)? {
        let number = field.value.parse().ok();
        match (field.path.as_slice(), field.name) {
            ([], "replica_count") => read.replica_count = number,
            ([], "reserved_hbm_usage_bytes") => read.reserved_hbm_bytes = number,
            (["tpu_topology_args"], "version") => read.version = field.value,
            (["tpu_topology_args"], "variant") => read.variant = field.value,
            (["tpu_topology_args"], "chip_config_name") => read.chip_config_name = field.value,
            (["tpu_topology_args", message], axis) => {
                let bounds = match *message {
                    "chips_per_host_bounds" => &mut read.chips_per_host,
                    "host_bounds" => &mut read.hosts,
                    _ => continue,
                };
                let axis = ["x", "y", "z"].iter().position(|name| *name == axis);
                if let (Some(axis), Some(number)) = (axis, number) {
                    bounds[axis] = number;
                }
            }
            _ => {}
        }
    }
    Ok(read)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chip_and_bounds() {
        let text = "configured_properties {\n  degraded_axes {\n  }\n}\nreplica_count: 1\n\
                    reserved_hbm_usage_bytes: 0\ntpu_topology_args {\n  version: \
                    TPU_VERSION_VIPERFISH\n  variant: \"lite\"\n  chip_config_name: \"default\"\n  \
                    chips_per_host_bounds {\n    x: 2\n    y: 4\n    z: 1\n  }\n}\n";
        let read = parse(text).unwrap();
        assert_eq!((read.version, read.variant), ("TPU_VERSION_VIPERFISH", "lite"));
        assert_eq!((read.chips_per_host, read.hosts), ([2, 4, 1], [1, 1, 1]));
        assert_eq!(read.reserved_hbm_bytes, Some(0));
    }
}
