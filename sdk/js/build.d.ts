/** Builds the component `output` from `source`, a module whose default export is the driver. */
export function build(
  source: string,
  output: string,
  options?: {
    /** A folder with your own world `driver` or, with `preview`, `driver-with-preview`, instead of this package's. */
    wit?: string;
    /** Exports the previews of the driver's types. */
    preview?: boolean;
  },
): Promise<void>;
