;; Nothing but the contract: whoever fails here is the host.
