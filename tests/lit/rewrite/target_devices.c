// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Missing if this fails: code of a device, and of a processor that the plugin is not for, is what it is without the plugin, however
// that is loaded.
// RUN: sh %S/Inputs/same_code.sh %rawclang %plugin %t --target=nvptx64-nvidia-cuda %s
// RUN: env PLUGIN_FLAGS=-fplugin-arg-smalloc-profile-generate sh %S/Inputs/same_code.sh %rawclang %plugin %t --target=nvptx64-nvidia-cuda %s
// RUN: env PLUGIN_FLAGS=-fplugin-arg-smalloc-layout=on sh %S/Inputs/same_code.sh %rawclang %plugin %t --target=nvptx64-nvidia-cuda %s
// RUN: sh %S/Inputs/same_code.sh %rawclang %plugin %t -x cuda --cuda-device-only --cuda-gpu-arch=sm_70 --cuda-feature=+ptx63 -nocudainc -nocudalib %s
// RUN: sh %S/Inputs/same_code.sh %rawclang %plugin %t -x hip -fuse-cuid=none --cuda-device-only --offload-arch=gfx906 -nogpuinc -nogpulib %s
// RUN: sh %S/Inputs/same_code.sh %rawclang %plugin %t --target=amdgcn-amd-amdhsa -nogpulib %s
// RUN: sh %S/Inputs/same_code.sh %rawclang %plugin %t --target=amdgcn-amd-amdhsa -nogpulib -flto %s
// RUN: sh %S/Inputs/same_code.sh %rawclang %plugin %t --target=spirv64-unknown-unknown %s
// RUN: sh %S/Inputs/same_code.sh %rawclang %plugin %t --target=bpfel %s
// RUN: sh %S/Inputs/same_code.sh %rawclang %plugin %t --target=bpfeb %s
// RUN: sh %S/Inputs/same_code.sh %rawclang %plugin %t --target=ve-unknown-linux-gnu %s
// RUN: sh %S/Inputs/same_code.sh %rawclang %plugin %t --target=mips64-linux-gnuabi64 %s
// RUN: sh %S/Inputs/same_code.sh %rawclang %plugin %t --target=s390x-linux-gnu %s
// RUN: sh %S/Inputs/same_code.sh %rawclang %plugin %t --target=aarch64_be-linux-gnu %s
// RUN: sh %S/Inputs/same_code.sh %rawclang %plugin %t --target=x86_64-linux-gnux32 %s
// RUN: sh %S/Inputs/same_code.sh %rawclang %plugin %t --target=x86_64-linux-gnu -fopenmp -Xclang -fopenmp-is-target-device %s
#ifdef __cplusplus
extern "C" {
#define DEVICE __attribute__((device))
#else
#define DEVICE
#endif
DEVICE void *malloc(__SIZE_TYPE__);
DEVICE void free(void *);
static DEVICE double table[64][512];
#pragma omp declare target
DEVICE double f(const int *x, long n) {
  double *a = (double *)malloc(n * sizeof(double)), s = 0;
  for (long i = 0; i < n; i++)
    table[i % 64][i % 512] = a[i] = i;
  for (long i = 0; i < n; i++)
    s += a[x[i]] + table[x[i] % 64][i % 512];
  free(a);
  return s;
}
#pragma omp end declare target
#ifdef __cplusplus
}
#endif
