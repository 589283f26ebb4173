;; A second memory, for several threads.
(memory $shared 4 16 shared)
