// Vite's form of a stylesheet as text.
declare module "*.css?inline" {
  const text: string;
  export default text;
}
declare module "*.css";
