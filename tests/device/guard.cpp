// A CUDA device without memory or work, for a PyTorch that was built without CUDA: autograd asks what a device's streams
// are before it computes gradients of tensors there, and finds none that would have to wait for one another.
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

namespace {

struct OnlyDevice : c10::impl::NoOpDeviceGuardImpl<c10::DeviceType::CUDA> {
  c10::Device only() const noexcept { return c10::Device(c10::DeviceType::CUDA, 0); }
  c10::Stream stream() const noexcept { return c10::Stream(c10::Stream::DEFAULT, only()); }

  c10::DeviceIndex deviceCount() const noexcept override { return 1; }
  c10::Device getDevice() const override { return only(); }
  c10::Device exchangeDevice(c10::Device) const override { return only(); }
  c10::Stream getStream(c10::Device) const noexcept override { return stream(); }
  c10::Stream getDefaultStream(c10::Device) const override { return stream(); }
  c10::Stream exchangeStream(c10::Stream) const noexcept override { return stream(); }
  void record(void**, const c10::Stream&, c10::DeviceIndex, c10::EventFlag) const override {}
  void block(void*, const c10::Stream&) const override {}
};

C10_REGISTER_GUARD_IMPL(CUDA, OnlyDevice)

}  // namespace

namespace at {

struct CUDAHooks : CUDAHooksInterface {
  explicit CUDAHooks(CUDAHooksArgs) {}
  void init() const override {}
  bool hasCUDA() const override { return true; }
  bool isAvailable() const override { return true; }
  bool isBuilt() const override { return true; }
  bool hasPrimaryContext(DeviceIndex) const override { return true; }
  DeviceIndex deviceCount() const override { return 1; }
  DeviceIndex getCurrentDevice() const override { return 0; }
};

REGISTER_CUDA_HOOKS(CUDAHooks);

}  // namespace at
