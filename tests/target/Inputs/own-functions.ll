target triple = "nvptx64-nvidia-cuda"
define float @twice_plus(float %x, i32 %n) {
  %scaled = fmul float %x, 2.0
  %wide = sitofp i32 %n to float
  %sum = fadd float %scaled, %wide
  ret float %sum
}
define float @first_of(ptr %p, i32 %n) {
  %at = getelementptr float, ptr %p, i32 %n
  %value = load float, ptr %at
  ret float %value
}
