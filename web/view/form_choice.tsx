// In: which form something is shown in. Out: two buttons, drawing or list; the list has all that the drawing shows.

export type Form = "drawing" | "list";

interface FormChoiceProps {
  name: string;
  shown: Form;
  drawable: boolean;
  onChoose: (form: Form) => void;
}

export function FormChoice({ name, shown, drawable, onChoose }: FormChoiceProps) {
  return (
    <div class="tb-choice" role="group" aria-label={`${name}: form`}>
      {(["drawing", "list"] as const).map((form) => (
        <button
          key={form}
          type="button"
          aria-pressed={shown === form}
          disabled={!drawable && form === "drawing"}
          onClick={() => onChoose(form)}
        >
          {form === "drawing" ? "Drawing" : "List"}
        </button>
      ))}
    </div>
  );
}
