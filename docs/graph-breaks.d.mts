/** Rows of core/interpret/breaks.def, each with the program of examples/breaks that shows it. */
export interface CatalogueEntry {
  code: string;
  title: string;
  why: string;
  hint: string;
  example: string | null;
}

export function readCatalogue(): CatalogueEntry[];
