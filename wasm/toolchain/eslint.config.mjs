// In: every tracked .mjs, .ts and .tsx. Out: ESLint's rules for them. Invariant: form is Prettier's; types are tsc's.

import js from "@eslint/js";
import prettier from "eslint-config-prettier";
import globals from "globals";
import typescript from "typescript-eslint";

export default [
  { ignores: ["node_modules/", "build/"] },
  js.configs.recommended,
  ...typescript.configs.strict.map((config) => ({ ...config, files: ["**/*.ts", "**/*.tsx"] })),
  {
    languageOptions: {
      ecmaVersion: 2024,
      sourceType: "module",
      globals: { ...globals.browser, ...globals.node },
    },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      "no-unused-vars": ["error", { argsIgnorePattern: "^_", caughtErrors: "none" }],
      "prefer-const": "error",
      eqeqeq: ["error", "always", { null: "ignore" }],
      "no-var": "error",
    },
  },
  {
    files: ["**/*.ts", "**/*.tsx"],
    rules: {
      "no-undef": "off",
      "no-unused-vars": "off",
      "@typescript-eslint/no-unused-vars": ["error", { argsIgnorePattern: "^_", caughtErrors: "none" }],
      "@typescript-eslint/no-explicit-any": "error",
      "@typescript-eslint/no-non-null-assertion": "off",
    },
  },
  prettier,
];
