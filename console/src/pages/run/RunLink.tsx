import { Link } from "@tanstack/react-router";

export function RunLink({ id }: { id: string }) {
  return (
    <Link to="/runs/$taskId" params={{ taskId: id }} search={{}} className="mono clip" title={id}>
      {id}
    </Link>
  );
}
