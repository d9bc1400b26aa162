// In: nothing. Out: the editor's search panel, a module of its own that is fetched when somebody searches.

import { highlightSelectionMatches, openSearchPanel, searchKeymap } from "@codemirror/search";
import { keymap } from "@codemirror/view";

export const searching = [highlightSelectionMatches(), keymap.of(searchKeymap)];
export { openSearchPanel };
