package peers.webflux;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;

/** Spring Cloud Gateway on Reactor Netty; its routes and limits are given on the command line. */
@SpringBootApplication
public class Application {

    public static void main(String[] words) {
        SpringApplication.run(Application.class, words);
    }
}
