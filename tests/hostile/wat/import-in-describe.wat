;; Calls imports from `describe`, which must not call any.
(import "purlin:driver/log@0.3.0" "write" (func $write (param i32 i32 i32)))
(import "purlin:driver/operation@0.3.0" "checkpoint" (func $checkpoint (param i32 i32 i32 i32 i32)))
(func $describe (export "purlin:driver/lifecycle@0.3.0#describe") (result i32)
  (call $write (i32.const 4) (i32.const 4096) (i32.const 15))
  (call $checkpoint (i32.const 4136) (i32.const 2) (i32.const 0) (i32.const 0) (i32.const 0))
  (call $info))
