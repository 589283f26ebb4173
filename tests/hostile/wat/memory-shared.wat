;; A second memory, shared between threads.
(memory $shared 4 16 shared)
