import { thirdbook } from "thirdbook/vitest/plugin";
import { defineConfig } from "vitest/config";

export default defineConfig({
  plugins: [thirdbook()],
});
