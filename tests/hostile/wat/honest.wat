;; It only follows the contract: if it fails, the host is at fault.
