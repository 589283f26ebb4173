;; More memory than any driver gets, from the beginning.
(memory $memory (export "memory") 65536)
