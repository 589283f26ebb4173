;; More initial memory than any driver may have.
(memory $memory (export "memory") 65536)
