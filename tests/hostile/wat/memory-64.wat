;; A second memory, with addresses of 64 bits, that grows beyond all bounds.
(memory $wide i64 1)
(func $create (export "purlin:driver/lifecycle@0.2.0#create") (param i32) (result i32)
  (drop (memory.grow $wide (i64.const 0x100000000)))
  (call $state))
