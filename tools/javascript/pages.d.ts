// What the scripts find on the pages of the game: the elements that they look for, and the events of these.
// `tsc` reads it; it is not sent to a browser. What is "always there" is there wherever a script looks for it.

declare const Idiomorph: {
  morph(
    shown: Element,
    fresh: Element,
    options?: {
      morphStyle: "outerHTML";
      ignoreActiveValue?: boolean | undefined;
      callbacks?: { beforeAttributeUpdated(name: string, node: Element): boolean };
    },
  ): void;
};

/** The button of a number, which places it. */
interface BlockButton extends HTMLButtonElement {
  id: BlockId;
  readonly form: HTMLFormElement;
}

type BlockId = string & { block: true };

/** A form on its way to the server. */
interface Sent {
  form: HTMLFormElement;
  button: HTMLButtonElement | null;
  body: URLSearchParams;
  version: string | undefined;
}

/** A move on its way: its block, and the piece that is shown until the server has it. */
interface SentMove extends Sent {
  block: BlockButton;
  piece?: Element;
}

type Sending = SentMove | (Sent & { block: false | null });

/** A block under a finger, where it was pressed, and the copy that follows the finger. */
interface Drag {
  block: BlockButton;
  x: number;
  y: number;
  id: number;
  ghost: HTMLElement | null;
}

/** The id of a text field, as a button that copies or shares the text has it. */
type FieldId = string & { field: true };

type CopyButton = HTMLElement & { querySelector(selector: "span"): HTMLElement };
type LinkField = HTMLElement & { previousElementSibling: HTMLElement };
type OpenBlock = `button.block[value="${string}"]:not([aria-disabled])`;

interface ParentNode {
  querySelector(selector: "#aid" | "button" | "summary" | '[data-tour="next"]'): HTMLElement; // always there
  querySelector(selector: "form"): HTMLFormElement; // always there
  querySelector(selector: "#openings" | ".wall .menu[open]"): HTMLDetailsElement | null;
  querySelector(selector: "#typed"): HTMLInputElement | null;
  querySelector(selector: OpenBlock): BlockButton | null;
  querySelector(selector: string): HTMLElement | null;
  querySelectorAll(selector: "button.block"): NodeListOf<BlockButton>;
  querySelectorAll(selector: string): NodeListOf<HTMLElement>;
}

interface Element {
  closest(selector: ".field"): LinkField; // always there
  closest(selector: string): HTMLElement | null;
  setAttribute(name: string, value: string | number | boolean): void; // the browser makes it a string
}

interface HTMLElement {
  cloneNode(deep?: boolean): HTMLElement;
}

interface HTMLButtonElement {
  matches(selector: ".block"): this is BlockButton;
}

interface HTMLFormElement {
  getAttribute(name: "action"): string;
}

interface URLSearchParams {
  get(name: "block"): string;
}

/** `closest` for the target of an event, which may be the document and then has none. */
interface FindClosest {
  (event: Event, selector: "button.block"): BlockButton | null | undefined;
  (event: Event, selector: "[readonly]"): HTMLInputElement | null | undefined;
  (event: Event, selector: "[data-copy]"): CopyButton | null | undefined;
  (event: Event, selector: string): HTMLElement | null | undefined;
}

/** The attributes that the elements always have of which a script reads them. */
interface DOMStringMap {
  copy: FieldId;
  game: string;
  grows: string;
  piece: string;
  share: FieldId;
  title: string;
  url: string;
}

interface Document {
  getElementById(id: "connection" | "says"): HTMLElement; // always there
  getElementById(id: "rule-form"): HTMLFormElement; // always there
  getElementById(id: "sound"): HTMLButtonElement; // always there
  getElementById(id: FieldId): HTMLInputElement; // always there
  getElementById(id: BlockId): BlockButton | null;
  getElementById(id: string | null): HTMLElement | null;

  addEventListener(type: "input", listener: (event: Event & { target: HTMLInputElement }) => void): void;
  addEventListener(
    type: "keydown",
    listener: (event: KeyboardEvent & { target: HTMLElement & { form?: HTMLFormElement | null } }) => void,
  ): void;
  addEventListener(type: "click", listener: (event: MouseEvent & { target: Element }) => void): void;
  addEventListener(
    type: "submit",
    listener: (event: SubmitEvent & { target: HTMLFormElement; submitter: HTMLButtonElement | null }) => void,
  ): void;
  addEventListener(
    type: "toggle",
    listener: (event: ToggleEvent & { target: HTMLDetailsElement }) => void,
    capture: true,
  ): void;
}
