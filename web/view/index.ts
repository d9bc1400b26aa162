// The package's view entry: mount(element, report), and an anywidget-shaped default export.
export { mount, type MountOptions, type MountedView } from "./mount.js";
export type * from "../report/types.js";
export { default } from "./widget.js";
