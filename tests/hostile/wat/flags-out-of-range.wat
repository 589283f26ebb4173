;; Flags for functions that do not exist.
(func $describe (export "purlin:driver/lifecycle@0.2.0#describe") (result i32)
  (i32.store8 (i32.const 1048) (i32.const 255))
  (i32.const 1024))
(data (i32.const 1024) "\00\10\00\00\0f\00\00\00\10\10\00\00\05\00\00\00\24\10\00\00\02\00\00\00\00\00\00\00\40\04\00\00\01\00\00\00\00\00\00\00\00\00\00\00")
(data (i32.const 1088) "\20\10\00\00\01\00\00\00\24\10\00\00\02\00\00\00\24\10\00\00\02\00\00\00")
