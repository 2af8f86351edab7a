"""Target configurations of GPUs: what XLA:GPU must know of a card to compile for it without one.

In: a name. Out: the text of a GpuTargetConfigProto with the fields that the compiler reads. The
numbers are those of the cards' data sheets and of CUDA's tables of compute capabilities;
`device_memory_size` is what the driver reports.
"""

# name, capability, multiprocessors, memory, bandwidth, L2, clock, shared memory (core, block)
CARDS = {
    "h100": ("NVIDIA H100 80GB HBM3", (9, 0), 132, 84942979072, 3352320000000, 52428800, 1.98, 233472, 232448),
    "a100-40": ("NVIDIA A100-SXM4-40GB", (8, 0), 108, 42331013120, 1555200000000, 41943040, 1.41, 167936, 166912),
    "v100": ("Tesla V100-SXM2-16GB", (7, 0), 80, 16935682048, 898048000000, 6291456, 1.53, 98304, 98304),
}

TEXT = """\
gpu_device_info {{
  threads_per_block_limit: 1024
  threads_per_warp: 32
  shared_memory_per_block: 49152
  shared_memory_per_core: {core_shared}
  threads_per_core_limit: 2048
  core_count: {cores}
  fpus_per_core: {fpus}
  block_dim_limit_x: 2147483647
  block_dim_limit_y: 65535
  block_dim_limit_z: 65535
  memory_bandwidth: {bandwidth}
  l2_cache_size: {l2}
  clock_rate_ghz: {clock}
  device_memory_size: {memory}
  shared_memory_per_block_optin: {block_shared}
  cuda_compute_capability {{
    major: {major}
    minor: {minor}
  }}
  registers_per_core_limit: 65536
  registers_per_block_limit: 65536
  name: "{name}"
}}
platform_name: "CUDA"
dnn_version_info {{
  major: 9
  minor: 10
}}
device_description_str: "{name}"
"""


def target_config(card):
    """The configuration of a card."""
    name, (major, minor), cores, memory, bandwidth, l2, clock, core, block = CARDS[card]
    return TEXT.format(
        name=name, major=major, minor=minor, cores=cores, memory=memory, bandwidth=bandwidth,
        l2=l2, clock=clock, core_shared=core, block_shared=block,
        fpus=128 if major >= 9 else 64,
    )
