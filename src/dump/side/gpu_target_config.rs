//! `gpu_target_config.pbtxt` in; the GPU out.

use super::scan::Read;
use super::text_proto;

/// The GPU that was compiled for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GpuTargetConfig<'t> {
    /// What the device calls itself (`NVIDIA H200`).
    pub name: &'t str,
    /// `CUDA` or `ROCM`.
    pub platform: &'t str,
    /// Its memory.
    pub memory_bytes: Option<u64>,
    /// CUDA compute capability, major and minor.
    pub compute_capability: Option<(u64, u64)>,
    /// Multiprocessors.
    pub core_count: Option<u64>,
    /// Shared memory that one block may ask for.
    pub shared_memory_bytes: Option<u64>,
}

/// Reads `gpu_target_config.pbtxt`.
///
/// # Errors
/// The first line that is not a field.
pub fn parse(text: &str) -> Read<GpuTargetConfig<'_>> {
    const DEVICE: &[&str] = &["gpu_device_info"];
    let mut read = GpuTargetConfig::default();
    for field in text_proto::fields(text)? {
        let number = field.value.parse().ok();
        match (field.path.as_slice(), field.name) {
            ([], "platform_name") => read.platform = field.value,
            ([], "device_description_str") if read.name.is_empty() => read.name = field.value,
            (DEVICE, "name") => read.name = field.value,
            (DEVICE, "device_memory_size") => read.memory_bytes = number,
            (DEVICE, "core_count") => read.core_count = number,
            (DEVICE, "shared_memory_per_block_optin") => read.shared_memory_bytes = number,
            (["gpu_device_info", "cuda_compute_capability"], part) => {
                let (major, minor) = read.compute_capability.unwrap_or_default();
                // A field that is 0 is not printed.
                read.compute_capability = match part {
                    "major" => number.map(|major| (major, minor)),
                    "minor" => number.map(|minor| (major, minor)),
                    _ => read.compute_capability,
                };
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
    fn an_h200() {
        let text = "gpu_device_info {\n  core_count: 132\n  device_memory_size: 151397597184\n  \
                    cuda_compute_capability {\n    major: 9\n    feature_extension: X\n  }\n  name: \
                    \"NVIDIA H200\"\n}\nplatform_name: \"CUDA\"\n";
        let read = parse(text).unwrap();
        assert_eq!((read.name, read.platform), ("NVIDIA H200", "CUDA"));
        assert_eq!(read.memory_bytes, Some(151397597184));
        assert_eq!(read.compute_capability, Some((9, 0)));
    }
}
