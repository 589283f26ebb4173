/** Makes `output`, a component, of `source`, a module whose default export is the driver. */
export function build(
  source: string,
  output: string,
  options?: {
    /** A folder with a world `driver` of your own, instead of this package's. */
    wit?: string;
  },
): Promise<void>;
