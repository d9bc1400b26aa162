// The set-up file of the plugin: registers matchers and the snapshot serialiser in each test file.
import { expect } from "vitest";
import { matchers } from "./matchers.js";
import { reportSerializer } from "./serializer.js";

expect.extend(matchers);
expect.addSnapshotSerializer({
  test: (value) => reportSerializer.test(value),
  serialize: (value) => reportSerializer.serialize(value as Parameters<typeof reportSerializer.serialize>[0]),
});
