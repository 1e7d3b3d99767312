!mod$ v1 sum:13f1de264c4d8e48
module state
real(8),private,save::m(1_8:4000000_8)
contains
subroutine f(n,index,s)
integer(4),intent(in)::n
integer(4),intent(in)::index(1_8:int(n,kind=8))
real(8),intent(out)::s
end
end
