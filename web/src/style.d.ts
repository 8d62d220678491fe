// The style is bundled beside the script; importing it brings no value.
declare module "*.css";
