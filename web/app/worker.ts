// The worker in which Python runs.
import { serve } from "../lib/worker.js";

serve(self);
