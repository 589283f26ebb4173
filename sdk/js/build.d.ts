/** Builds the component `output` from `source`, a module whose default export is the driver. */
export function build(
  source: string,
  output: string,
  options?: {
    /** A folder with your own world `driver`, instead of this package's. */
    wit?: string;
  },
): Promise<void>;
