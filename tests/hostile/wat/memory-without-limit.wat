;; May grow to 4 GiB, and tries to.
(memory $memory (export "memory") 4 65536)
(func $create (export "purlin:driver/lifecycle@0.3.0#create") (param i32) (result i32)
  (drop (memory.grow (i32.const 65000)))
  (call $state))
