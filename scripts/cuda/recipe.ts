/** Which wheels CUDA's library is made of. */
export interface CudaRecipe {
  readonly runtime: string
  readonly platform: string
  readonly wheels: readonly {
    readonly package: string
    readonly version: string
    /** How the names of its wheels for this platform end; of several the last counts. */
    readonly tag: RegExp
    /** Which of its files are taken. */
    readonly takes: RegExp
  }[]
}

const linux = /x86_64\.whl$/

/**
 * ONNX Runtime's provider, in the version of onnxruntime-node, and what it loads. NVIDIA's are of CUDA 13.0, the first that
 * the provider was built for: later ones would ask for a later driver (`oldestCudaDriver`).
 */
export const recipe: CudaRecipe = {
  runtime: '1.30.0',
  platform: 'linux-x64',
  wheels: [
    {
      package: 'onnxruntime-gpu',
      version: '1.30.0',
      tag: /-cp314-cp314-.*x86_64\.whl$/,
      takes: /\/libonnxruntime_providers_(?:cuda|shared)\.so$/,
    },
    { package: 'nvidia-cuda-runtime', version: '13.0.96', tag: linux, takes: /\/libcudart\.so\.13$/ },
    { package: 'nvidia-cublas', version: '13.1.0.3', tag: linux, takes: /\/libcublas(?:Lt)?\.so\.13$/ },
    { package: 'nvidia-curand', version: '10.4.0.35', tag: linux, takes: /\/libcurand\.so\.10$/ },
    { package: 'nvidia-cufft', version: '12.0.0.61', tag: linux, takes: /\/libcufft\.so\.12$/ },
    {
      package: 'nvidia-cuda-nvrtc',
      version: '13.0.88',
      tag: linux,
      takes: /\/libnvrtc(?:-builtins)?\.so\.13(?:\.0)?$/,
    },
    { package: 'nvidia-cudnn-cu13', version: '9.20.0.48', tag: linux, takes: /\/libcudnn\w*\.so\.9$/ },
  ],
}
